"""The field vocabulary: types, their rules, and the registries behind them."""
