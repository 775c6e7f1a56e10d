"""The one client of the Docker API (unix, TLS, ssh, contexts), used by the Docker and Swarm engines and the agent."""
