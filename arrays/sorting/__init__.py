"""Sorting, sets, searching, quantiles."""

from .quantiles import *
from .search import *
from .sets import *
from .sorts import *
