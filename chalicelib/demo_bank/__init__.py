"""The demonstration banks, which are ordinary banks with their own customers, accounts and pages.

They use only the service's public HTTP interface. The service treats them like any other bank: ``setup`` registers each
of them as a bank record. A stage called ``prod`` never has demonstration banks.
"""
