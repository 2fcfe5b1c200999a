"""The KB directory: generations, manifest, locks, workspace, atomic files. All system-specific code is here."""
