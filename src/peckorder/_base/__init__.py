"""What estimators of several families share."""
