"""The demonstration banks: ordinary banks with their own customers, accounts and pages.

They use only the service's public HTTP interface. The service treats them like any bank: as a record,
registered by ``setup``. A stage called ``prod`` never has them.
"""
