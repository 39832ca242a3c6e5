// Package userdata turns a package's base HOT, the VNFD, the request and the grant into what Heat is given: the
// template, its files and the parameter nfv. It has the two classes that packages in use rely on, built in:
// StandardUserData (one resource per VNFC, named <VDU>-<index>) and DefaultUserData (groups with desired_capacity).
//
// Assembly is a pure function of its input: a node that takes over an operation assembles the same stack, to the byte.
//
// # Values
//
// The template decides which leaves nfv has: every path below nfv that a get_param names. Later sources take
// precedence:
//
//  1. computed: flavours and images from the grant, else those of the VDU's other VNFCs, else from the VNFD; zones from
//     the grant, of the VNFC before those of the VDU; network, fixed_ips and port of a connection point from the
//     external virtual links; desired_capacity from the number of VNFCs;
//  2. the stack: a VNFC that exists keeps its values, and gets none that it did not have. Left out are the leaves that
//     the operation decides again (Fresh), desired_capacity, and those of VNFCs that are removed;
//  3. the nfv of the request, then that of the grant, as JSON merge patches: they can add leaves that are not known
//     otherwise (names, properties of the package's own) and remove leaves with null.
//
// One leaf is not the template's: LeafServerGroup remembers the server group in which a VNFC was created. From it, and
// for new VNFCs from the VNFD's rules of scope nfvi_node, follow the groups and scheduler_hints that are added to the
// template and to copies of nested ones. A server that exists never changes its group.
//
// A port that the consumer made (linkPortId) is given to templates that ask for the leaf port of the connection point;
// others make a port of their own, as they always did.
package userdata
