"""Field types, the validation rules of each type, and the registries of codes that the rules use."""
