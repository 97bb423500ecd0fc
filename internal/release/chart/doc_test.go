// Package chart tests the Helm chart in deploy/helm/parley. It renders the chart with Helm's own
// engine, decodes each manifest strictly into the types of Kubernetes (those of custom resources
// against their definitions), checks the references between manifests, and starts the command of
// each container with its arguments, variables and files.
//
// # Non-guarantees
//
// No cluster runs the manifests: the tests stand in for its kubelet, with other paths and ports.
//
// # Testing
//
// The module is apart from the main one, which shall not depend on Helm. PARLEY_BINARY names a
// program to start; without it, the tests build one. "go test -update" writes the schema of
// parley.yaml into values.schema.json.
package chart
