"""The card API's protocol as data: fields, values, status codes, states, messages and the action table."""
