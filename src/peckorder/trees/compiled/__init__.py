"""Compiled functions of trees."""
