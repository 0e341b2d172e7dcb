"""The pages: pairs of Markdown and notebook, what is made from data, copies for Colab."""
