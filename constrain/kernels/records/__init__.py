"""What the arena holds: one declaration for each kind of record, and accessors that name its words."""
