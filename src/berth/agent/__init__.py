"""The node agent: which cards the host has, what its containers really see, told to the server over one stream."""
