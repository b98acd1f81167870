"""Policies as ClassAds: read, checked, and evaluated by HTCondor's library."""
