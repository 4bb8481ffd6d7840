"""The network between the hub, its banks and its receivers, at its worst."""
