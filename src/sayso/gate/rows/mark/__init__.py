"""The mark beside the key: how far a store had come, so that whatever goes back shows."""
