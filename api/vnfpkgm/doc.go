// Package vnfpkgm serves VNF package management under /vnfpkgm/v1: the interface of SOL005 and SOL003 that
// clients of version 1 use. No Version header is needed.
//
// Package content is streamed in both directions and never held in memory.
package vnfpkgm
