"""From normal forms to the rules of a lazy grammar."""
