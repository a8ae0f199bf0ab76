"""What users import: `Array` and its methods here, operations on arrays in folders by subject."""
