"""HTTP server and client code: incoming requests, web pages, and calls to other parties."""
