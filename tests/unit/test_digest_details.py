"""Details of the digest that a planted fault showed no other test to notice."""
