"""Every key of a stack file by the schema 3.13 of the docker CLI 28.2.2, as paths; `*` is a name of the file's own.

`driver` and `driver_opts` of a secret are not among them: no Swarm takes them without a plugin. tests/compose has them.
"""


def _words(text: str) -> list[str]:
    return text.split()


SERVICE = _words("""
build build.context build.dockerfile build.args build.labels build.cache_from build.network build.target build.shm_size
build.extra_hosts cap_add cap_drop cgroup_parent cgroupns_mode command configs configs.source configs.target configs.uid
configs.gid configs.mode container_name credential_spec credential_spec.config credential_spec.file
credential_spec.registry depends_on deploy devices dns dns_search domainname entrypoint env_file environment expose
external_links extra_hosts healthcheck healthcheck.disable healthcheck.interval healthcheck.retries healthcheck.test
healthcheck.timeout healthcheck.start_period healthcheck.start_interval hostname image init ipc isolation labels links
logging logging.driver logging.options mac_address network_mode networks networks.*.aliases networks.*.driver_opts
networks.*.ipv4_address networks.*.ipv6_address oom_score_adj pid ports ports.mode ports.target ports.published
ports.protocol privileged read_only restart secrets secrets.source secrets.target secrets.uid secrets.gid secrets.mode
security_opt shm_size stdin_open stop_grace_period stop_signal sysctls tmpfs tty ulimits ulimits.*.hard ulimits.*.soft
user userns_mode volumes volumes.type volumes.source volumes.target volumes.read_only volumes.consistency volumes.bind
volumes.bind.propagation volumes.volume volumes.volume.nocopy volumes.volume.subpath volumes.tmpfs volumes.tmpfs.size
working_dir
""")
ROLLOUT = _words("parallelism delay failure_action monitor max_failure_ratio order")
DEPLOY = [
    *_words("""
mode endpoint_mode replicas labels placement placement.constraints placement.preferences placement.preferences.spread
placement.max_replicas_per_node resources resources.limits resources.limits.cpus resources.limits.memory
resources.limits.pids resources.reservations resources.reservations.cpus resources.reservations.memory
resources.reservations.generic_resources resources.reservations.generic_resources.discrete_resource_spec
resources.reservations.generic_resources.discrete_resource_spec.kind
resources.reservations.generic_resources.discrete_resource_spec.value restart_policy restart_policy.condition
restart_policy.delay restart_policy.max_attempts restart_policy.window update_config rollback_config
"""),
    *(f"{section}_config.{key}" for section in ("update", "rollback") for key in ROLLOUT),
]
VOLUME = _words("""
name driver driver_opts external external.name labels x-cluster-spec x-cluster-spec.group x-cluster-spec.access_mode
x-cluster-spec.access_mode.scope x-cluster-spec.access_mode.sharing x-cluster-spec.access_mode.mount_volume
x-cluster-spec.access_mode.mount_volume.fs_type x-cluster-spec.access_mode.mount_volume.mount_flags
x-cluster-spec.accessibility_requirements x-cluster-spec.accessibility_requirements.requisite
x-cluster-spec.accessibility_requirements.requisite.segments x-cluster-spec.accessibility_requirements.preferred
x-cluster-spec.accessibility_requirements.preferred.segments x-cluster-spec.capacity_range
x-cluster-spec.capacity_range.required_bytes x-cluster-spec.capacity_range.limit_bytes x-cluster-spec.availability
""")
SECTIONS = {
    "services.*": SERVICE,
    "services.*.deploy": DEPLOY,
    "networks.*": _words(
        "name driver driver_opts ipam ipam.driver ipam.config ipam.config.subnet external external.name "
        "internal attachable labels"
    ),
    "volumes.*": VOLUME,
    "secrets.*": _words("name file external external.name labels template_driver"),
    "configs.*": _words("name file external labels template_driver"),
}
FORMS = {
    "services.*.command": ("text", "list"),
    "services.*.entrypoint": ("text", "list"),
    "services.*.environment": ("mapping", "list"),
    "services.*.labels": ("mapping", "list"),
    "services.*.deploy.labels": ("mapping", "list"),
    "services.*.env_file": ("text", "list"),
    "services.*.dns": ("text", "list"),
    "services.*.dns_search": ("text", "list"),
    "services.*.extra_hosts": ("mapping", "list"),
    "services.*.sysctls": ("mapping", "list"),
    "services.*.networks": ("mapping", "list"),
    "services.*.tmpfs": ("text", "list"),
    "services.*.build": ("text", "mapping"),
    "services.*.healthcheck.test": ("text", "list"),
    "services.*.ulimits.*": ("text", "mapping"),
    "services.*.ports.-": ("text", "mapping"),
    "services.*.volumes.-": ("text", "mapping"),
    "services.*.secrets.-": ("text", "mapping"),
    "services.*.configs.-": ("text", "mapping"),
    "networks.*.external": ("text", "mapping"),
    "volumes.*.external": ("text", "mapping"),
    "secrets.*.external": ("text", "mapping"),
}
"""Keys with several forms. `-` is an item of a list."""
KEYS = ["version", *SECTIONS, *(f"{section}.{key}" for section, keys in SECTIONS.items() for key in keys)]
NAMES = ("services", "networks", "volumes", "secrets", "configs", "ulimits")
"""Sections whose keys are the file's own."""
