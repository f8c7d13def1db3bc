"""Details of reading messages and plans that a planted fault showed no other test to notice."""
