// Package snapshot makes and deletes what a VNF snapshot has in OpenStack: an image of each server that boots from one,
// by Nova, and a copy of each volume.
//
// A volume is copied, and no snapshot of it is taken, because Cinder does not delete a volume that has snapshots: the
// VNF could not be terminated, nor reverted, while the snapshot exists (ADR 044).
//
// Names are deterministic, and all resources carry the ids of the snapshot and of the VNF instance. A node that
// continues the work of another one adopts what has the name and the id.
package snapshot
