print("mgmt")
