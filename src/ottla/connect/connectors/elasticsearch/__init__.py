"""Records as documents of Elasticsearch or OpenSearch, under the keys of Confluent's connector."""
