"""What a fitted classifier says: scores, decisions, predictions with a threshold."""
