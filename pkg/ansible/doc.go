// Package ansible is the mgmt driver for packages that OpenStack Tacker's sample Ansible driver was made for.
//
// The file ScriptANSIBLE/config.yaml of such a package lists, for each VDU and for instantiation, termination, healing
// and scaling, Ansible playbooks of the package or commands. Playbooks run with the node's ansible-playbook in the
// sandbox of package script; commands run over SSH on the VNFC, or on a host that the file names. docs/ansible.md
// describes the file and the driver.
package ansible
