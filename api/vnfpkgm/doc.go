// Package vnfpkgm serves VNF package management, the interface of SOL005 and SOL003, under /vnfpkgm/v1 and /vnfpkgm/v2.
// Both have the same resources and the same code. Version 1 needs no Version header, and shows a package whose content
// was refused as CREATED, like v2.6.1 of the standard; version 2 shows it as ERROR.
//
// Package content is streamed in both directions and never held in memory.
package vnfpkgm
