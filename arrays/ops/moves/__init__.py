"""Operations that only move elements: reshaping, joining, slicing and the like."""
