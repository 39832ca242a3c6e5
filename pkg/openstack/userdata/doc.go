// Package userdata turns a package's base HOT, the VNFD, the request and the grant into what Heat is given: the template, its
// files and the parameter nfv. It has the two classes that packages in use rely on, built in: StandardUserData (one resource
// per VNFC, named <VDU>-<index>) and DefaultUserData (groups with desired_capacity).
//
// Assembly is a pure function of its input: whoever takes over an operation assembles the same stack.
package userdata
