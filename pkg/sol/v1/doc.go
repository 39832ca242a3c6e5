// Package v1 has the data types of version 1 of the VNF lifecycle management interface (SOL003 v2.6.1, API versions
// 1.x), where they differ from those of package sol, and translates JSON between the two forms.
//
// Answers are translated as text: Instance and Operation copy what is the same in both versions, and decode nothing.
// Requests are small, and Request decodes only the members that have another form.
//
// Clients of version 1 were made for OpenStack Tacker, which extends the data types. The extensions that its clients
// read or send are part of these types: vnfPkgId, ids of vnfcResourceInfo in heal requests, and numbers of steps that
// are texts.
package v1
