"""Every parser of what strangers send, fed with bytes: ``make test`` runs a corpus, ``make fuzz`` finds more of it."""
