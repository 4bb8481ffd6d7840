"""The demonstration banks: ordinary banks with their own customers, accounts and pages.

They know the protocol and talk to the service over its public HTTP interface only; the service knows them as it knows
every bank, by a record that ``setup`` registers. No stage called ``prod`` has them.
"""
