# Requests name this file in lcm-operation-user-data. It is never executed: what the class KubernetesClusterUserData stands for,
# one group per VDU with its size and parameters filled in, is built into the VNFM.
