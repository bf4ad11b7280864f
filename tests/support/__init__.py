"""What several tests share: slow versions, settings, helpers."""
