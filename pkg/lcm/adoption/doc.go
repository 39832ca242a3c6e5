// Package adoption reads VNF instances as another VNFM shows them, so that they can be managed here. It decides what
// can be decided without the VIM, and is pure: package admission asks the drivers and the store.
//
// OpenStack Tacker shows instances through two versions of SOL003 (v2.6.1 and v3.3.1), with deviations: members that
// the standard requires are null or absent, additionalParams are members of the instance with names in camel case, and
// the parameters of operations can be a text that holds JSON.
package adoption
