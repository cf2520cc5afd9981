"""Methods: each declares what moves, downhill on what, how often. Everything else is derived (see ``training``)."""
