package kubeapi_test

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
)

// wait and tick bound how tests poll.
const (
	wait = time.Minute
	tick = 5 * time.Millisecond
)

// served is a cluster with one API server and its administrator's client.
type served struct {
	*kubeapi.Cluster
	server *kubeapi.Server
	url    string
	admin  *rest.Config
	*kubernetes.Clientset
}

func newCluster(t *testing.T) *kubeapi.Cluster {
	t.Helper()
	c, err := kubeapi.NewCluster(kubeapi.Options{})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func serve(t *testing.T) *served {
	t.Helper()
	s := &served{Cluster: newCluster(t)}
	s.server, s.url = listen(t, s.Cluster)
	conf, err := s.AdminKubeconfig(s.url)
	require.NoError(t, err)
	s.admin, err = clientcmd.RESTConfigFromKubeConfig(conf)
	require.NoError(t, err)
	s.Clientset = client(t, s.admin)
	return s
}

// listen starts one more API server.
func listen(t *testing.T, c *kubeapi.Cluster) (*kubeapi.Server, string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	cert, err := c.IssueServing("127.0.0.1", "kubernetes")
	require.NoError(t, err)
	srv := c.Serve(cert, l)
	t.Cleanup(srv.Close)
	return srv, "https://" + l.Addr().String()
}

// client makes a typed client whose connections end with the test.
func client(t *testing.T, cfg *rest.Config) *kubernetes.Clientset {
	t.Helper()
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	h, err := rest.HTTPClientFor(cfg)
	require.NoError(t, err)
	t.Cleanup(h.CloseIdleConnections)
	cs, err := kubernetes.NewForConfigAndClient(cfg, h)
	require.NoError(t, err)
	return cs
}

func podOn(name, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "busybox"}}},
	}
}
