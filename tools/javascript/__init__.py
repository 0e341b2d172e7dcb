"""How the book's scripts are checked: by tools from npm, as package-lock.json lists them."""
