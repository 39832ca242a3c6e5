// Package admission is the request side of VNF lifecycle management: it checks requests against the VNFD and the
// drivers, admits operations, and applies the events of users. It never works on an operation; package execution does.
package admission
