"""Methods, one a file, each naming the distribution that it samples; `table.METHODS` names them."""
