package kubernetes

import (
	"errors"
	"fmt"

	"k8s.io/client-go/tools/clientcmd"
)

// MergeKubeconfig adds the result of Access.Kubeconfig to a kubeconfig file, which may be empty. It returns the file
// and the name of the new context: name, or the cluster's own if name is empty. An earlier version of the same context
// is replaced; a context of that name with another user is an error. The file's current context does not change, unless
// it has none.
func MergeKubeconfig(file, own []byte, name string) (merged []byte, context string, err error) {
	more, err := clientcmd.Load(own)
	if err != nil {
		return nil, "", fmt.Errorf("the cluster's kubeconfig cannot be read: %w", err)
	}
	ctx := more.Contexts[more.CurrentContext]
	if ctx == nil || more.Clusters[ctx.Cluster] == nil || more.AuthInfos[ctx.AuthInfo] == nil {
		return nil, "", errors.New("the cluster's kubeconfig has no current context")
	}
	if name == "" {
		name = more.CurrentContext
	}
	into, err := clientcmd.Load(file)
	if err != nil {
		return nil, "", fmt.Errorf("it is not a kubeconfig file: %w", err)
	}
	user := userOf(name)
	if was := into.Contexts[name]; was != nil && was.AuthInfo != user {
		return nil, "", fmt.Errorf(
			"it has a context %q of another user, %q; use another name for the new one (--context)", name, was.AuthInfo,
		)
	}
	if was := into.Contexts[name]; was == nil && into.Clusters[name] != nil {
		return nil, "", fmt.Errorf("it has another cluster %q; use another name for the new one (--context)", name)
	}
	into.Clusters[name], into.AuthInfos[user] = more.Clusters[ctx.Cluster], more.AuthInfos[ctx.AuthInfo]
	renamed := *ctx
	renamed.Cluster, renamed.AuthInfo = name, user
	if was := into.Contexts[name]; was != nil {
		renamed.Namespace = was.Namespace // the user's choice
	}
	into.Contexts[name] = &renamed
	if into.CurrentContext == "" {
		into.CurrentContext = name
	}
	if merged, err = clientcmd.Write(*into); err != nil {
		return nil, "", fmt.Errorf("write a kubeconfig: %w", err)
	}
	return merged, name, nil
}

// userOf names the account of a cluster in files that know several.
func userOf(cluster string) string { return ServiceAccount + "@" + cluster }
