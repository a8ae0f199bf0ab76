"""Operations on arrays. Each is defined once, as a value or as a function that makes a node (`graph/kinds`)."""
