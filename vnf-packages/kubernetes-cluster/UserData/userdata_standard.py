# StandardUserData is part of the VNFM, which selects it by the class name in lcm-operation-user-data-class.
# This file exists because requests name it in lcm-operation-user-data; it is never executed.
