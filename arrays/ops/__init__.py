"""Operations on arrays: one definition for each, a value or a function that makes a node of a frozen kind."""
