"""Everything behind `scripts/train_reference.py`: documents, tokenizer, training, measurement, export."""
